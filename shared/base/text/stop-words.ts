import type { StemmedLanguage } from './language';

/**
 * Articles, conjunctions, prepositions, pronouns and forms of "to be" and "to have", in the form in which the analyser
 * cuts words ("don't" is "dont"). The lists are short on purpose. They only affect queries, and BM25 gives other
 * frequent words little weight; but a word listed here without need can't be searched for together with other words.
 * English has Lucene's 33 words and a few more.
 */
const STOP_WORDS: Record<StemmedLanguage, string> = {
  ar: 'في من إلى الى على عن مع أو او و ثم أن ان إن لا ما لم لن هو هي هم هذا هذه ذلك التي الذي الذين كان كانت قد كل بين',
  ca:
    'a al als amb com d de del dels el els en entre era és eren es et ha han hi ho i jo l la les li lo no o on per ' +
    'però què que qui s se són un una uns unes us va',
  cs: 'a aby aj ale ani až bez by byl byla bylo byli být co do i jak jako je jeho jej jejich jen ji jsem jsou k kde ke která které který mezi na nad ne nebo o od po pod pro při s se si ta tak také tato ten to tom u v ve však z za ze že',
  da:
    'af alle at blev da de dem den denne der deres det dette dig din du efter eller en er et for fra ham han har ' +
    'havde hende hendes her hun hvis i ikke ind jeg kan med men mig min mod ned nu og om op os på sig sin skal som ' +
    'til ud under var ved vi vil ville være',
  de: 'aber als am an auch auf aus bei beim bin bis da das dass daß dem den der des die du durch ein eine einem einen einer eines er es für hat haben hatte ich ihr im in ist ja kann man mit nach nicht noch nur ob oder sein sich sie sind so über um und uns unter vom von vor war waren was wenn wer wie wir wird zu zum zur',
  en:
    'a am an and are as at be been being but by did do does dont for from had has have he her his how i if in into ' +
    'is it its me my no not of on or our she so such than that the their them then there these they this those to ' +
    'was we were what when where which who whom why will with would you your',
  es: 'a al ante como con cual de del desde donde e el él ella ellas ellos en entre era eran es esa ese eso esta está este esto están fue ha han hay la las le les lo los me mi muy más ni no nos o para pero por porque que qué se ser si sin sobre son su sus también te tu un una unas uno unos y ya yo',
  eu:
    'al ala arte baina bat batzuk bere da dira dute du duen edo ere eta ez gu hau hori horiek izan nola non nor ni ' +
    'zen zer ziren zu',
  fi: 'ei eivät en että hän he ja joka jos jotka kun kuin me mikä minä mutta myös ne niin ole oli olivat olla on ovat se sekä sen siitä sinä tai tämä te tuo vai',
  fr:
    'à ai au aux avec ce ces cet cette c d dans de des du elle elles en es est et être eu il ils j je l la le les ' +
    'leur leurs lui m ma mais me mes mon n ne nos notre nous on ont ou où par pas pour qu que quel quelle qui s sa ' +
    'se ses si son sont sur t ta te tes ton tu un une vos votre vous y',
  ga: 'a ach ag agus an ar as ba bhí ceann chun cuid dá de den do don é eile faoi gan go i iad idir is lena mar mé na nach ná ní níl nó ó roimh sa san sé seo sí sin sna sinn tá thar tú um',
  hu: 'a az azt és egy ez ezt ha hogy ki is meg mert mi mint nem ne ő ők s van vagy volt voltak csak de el én te mely amely ami aki',
  hy:
    'այդ այլ այն այս դու դուք եմ են ենք ես եք է էի էին է ի ին իսկ իր կամ համար հետ մեջ մի նա նաև նրա նրանք որ որը ' +
    'որոնք պես վրա ու և',
  it: 'a ad ai al alla alle allo agli anche c che chi ci come con cui d da dai dal dalla dalle dallo dagli de dei del della delle dello degli di dove e è ed era erano essere fu gli ha hanno ho i il in io l la le lei lo loro lui ma mi mio ne nei nel nella nelle nello negli noi non o per più quale quella quello questa questo se si sono su sua sue sui sul sulla suo suoi tra tu un una uno vi voi',
  nl: 'aan al als bij dan dat de der deze die dit door een en er het hij hoe ik in is je kan maar me met mijn na naar niet nog nu of om omdat ons ook op over te tegen tot u uit van voor waar was wat we wel werd wie wij zal ze zich zij zijn zo',
  no:
    'alle at av bare ble da de dem den denne der deres det dette du eller en er et ett for fra ha hadde han har ' +
    'hans hun hva hvor i ikke jeg kan med men mitt nå når og også om opp oss på seg sin skal som til ut var ved vi ' +
    'vil være',
  pt: 'a ao aos as às à com como da das de do dos e é ela elas ele eles em entre era eram essa esse esta está este eu foi há isso isto já lhe mais mas me na nas nem no nos não o onde os ou para pela pelas pelo pelos por qual quando que quem se sem ser seu seus sua suas são também te tem um uma umas uns você',
  ro: 'a acea aceasta acest această acesta ai al ale am ar are au ca că care ce cel cele cu cum da dar de din după ea ei el era este eu fi fie fost iar în între la le lor lui mai nu o pe pentru sa să sau se si și sînt sunt un una unei unui va vor',
  ru: 'а без был была были было быть в вам вас весь во вот все всё вы где да для до его ее её если есть еще ещё же за и из или им их к как ко когда кто ли меня мне мы на над не него нее неё нет ни но ну о об он она они оно от по под при с со так также там то того тоже только том ты у уже что чтобы эта эти это этот я',
  sl:
    'a ali bi bil bila bili bilo brez da do ga in iz je jih k kako kaj kar kdo ker ki ko kot med na nad ne ni o ob ' +
    'od on ona pa po pod pri s se sem si smo so sta ta te ti to tudi v za z že',
  sv: 'alla att av blev bli blir då de dem den denna deras dess det detta dig din du där efter ej eller en er ett för från ha hade han hans har henne hennes hon hur här i icke inte jag kan man med men mig min mot ni nu när någon och om oss på sig sin ska skulle som så till under upp ut vad var vi vid vilken vill är',
  ta:
    'ஒரு என்று மற்றும் இந்த இது என்ற கொண்டு என்பது பல ஆகும் அல்லது அவர் நான் உள்ள அந்த இவர் என முதல் என்ன இருந்து ' +
    'சில என் அவள் நீ அதன் இதன்',
  tr:
    'acaba ama ancak bazı ben bir biz bu çok çünkü da daha de değil diye en gibi hem hep her ile ise için kadar ki ' +
    'kim mi mı mu mü ne neden niçin o olan olarak onlar sen siz şu ve veya ya',
};

/** Words that a query in this language leaves out if it has others. */
export function stopWords(language: StemmedLanguage): ReadonlySet<string> {
  return new Set(STOP_WORDS[language].split(' '));
}
